"""What runs inside the target's interpreter; copied there, never imported from here."""
