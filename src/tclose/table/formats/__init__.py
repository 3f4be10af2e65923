"""Readers of what is neither CSV nor Parquet: JSON, Arrow, spreadsheets, statistics packages, databases."""
