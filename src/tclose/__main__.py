"""`python -m tclose` is the command line."""

from tclose.cli.main import main

if __name__ == "__main__":
    main()
