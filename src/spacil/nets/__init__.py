"""Networks: they predict, they hold no loss."""
