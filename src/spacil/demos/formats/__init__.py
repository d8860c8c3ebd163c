"""Other people's demonstration formats: one file each, import and export."""
