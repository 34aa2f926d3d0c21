"""What people press and react with below an answer: who may, and what comes of it."""
