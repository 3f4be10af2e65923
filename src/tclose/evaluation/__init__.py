"""What a release is worth: to an analyst, to an attacker, and beside other releases."""
