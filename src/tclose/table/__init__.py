"""From any dataframe or file to arrays."""
