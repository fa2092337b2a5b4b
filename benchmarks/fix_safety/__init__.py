"""Generated programs, fixed and compared: whether a fix that is called safe changes what a program does in eager."""
