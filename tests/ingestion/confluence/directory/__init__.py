"""The directory of colleagues, and a Microsoft Graph that runs here."""
