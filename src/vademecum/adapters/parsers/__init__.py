"""Who reads each format? Everything here runs in a child process, never in ours."""
