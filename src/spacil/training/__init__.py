"""The paper's loop: plan, play, update, evaluate. What is learned is in `updates`."""
