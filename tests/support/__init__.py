"""What tests of several packages share: stand-ins for servers, small data sets, small models."""
