"""What an imitator is paid by: networks that tell agent from demonstrator."""
