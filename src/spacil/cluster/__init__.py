"""Other machines, through Ray. The only room that imports it; everything else works without."""
