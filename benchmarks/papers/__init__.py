"""The experiments of paper 004 anew: figures 10 to 19."""
