"""Every table and figure of the paper, one file each, and its claims answered from them."""
