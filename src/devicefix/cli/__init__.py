"""The command line: thin, everything it does is in `engine` and `report`."""
