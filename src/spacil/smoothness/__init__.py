"""The paper's contribution: penalties and metrics. Takes callables, knows no network class."""
