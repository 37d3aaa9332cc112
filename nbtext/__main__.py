"""`python -m nbtext`."""

from nbtext.cli.main import main

if __name__ == "__main__":
    main()
