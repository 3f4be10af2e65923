"""The only way out: recoding, certificates, records and atomic writing."""
