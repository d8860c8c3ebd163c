"""Third-party files are parsed in a limited child process; nothing here knows what they hold."""
