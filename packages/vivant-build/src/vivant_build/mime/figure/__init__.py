"""The built-in look: skinned bodies with clothes, modelled, lit and drawn by the project itself."""
