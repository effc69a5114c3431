"""The stages, the record, run control and the command line."""
