"""Why does it shake? Told from a recording alone: commands, measurements, time stamps."""
