"""Pictures and pages that open offline: SVG and HTML text, nothing else."""
