"""The image-captioning study of the compile guides: padding, dynamic shapes, modes, optimizer, regions, caches."""
