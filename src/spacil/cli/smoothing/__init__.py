"""Verbs about policies of one's own: make one smooth, find out why it shakes, hand it out."""
