"""`dunnage bench unexpected`: messages whose receive is posted late."""
