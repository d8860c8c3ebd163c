"""Pictures of an env: where everything is, drawn in a child process or shown in a window."""
