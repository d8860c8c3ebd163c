"""The exact smoothness penalty inside other people's training: a hook on an optimizer's step.

`penalty.py` knows torch alone. `sb3.py` and `rsl_rl.py` find optimizer, mean action and states in a
Stable-Baselines3 model or an rsl_rl runner. Neither library is ever imported.
"""
