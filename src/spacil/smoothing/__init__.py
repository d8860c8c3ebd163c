"""Any policy in, a smooth one out: distillation in closed loop, and the table that judges it."""
