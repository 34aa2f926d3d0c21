"""What people write on any platform: heard, changed, taken back."""
