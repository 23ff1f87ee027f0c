"""Any program, run where 169.254.169.254 is the emulator. Linux only; leaves nothing behind."""
