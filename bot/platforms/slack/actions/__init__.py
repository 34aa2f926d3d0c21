"""What people do to messages: buttons, reactions and the message shortcut."""
