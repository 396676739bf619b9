"""What the servers share: listening, security headers, secrets, templates and static files."""
