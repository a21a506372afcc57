"""`dunnage bench higrad`: a program with the structure of Higrad, in its options."""
