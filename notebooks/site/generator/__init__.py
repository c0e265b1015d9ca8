"""What the site has beside its written pages: reference, command line, format, references."""
