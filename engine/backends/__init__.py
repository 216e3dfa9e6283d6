"""Where computing happens: memory, copies and waiting, behind one small protocol."""
