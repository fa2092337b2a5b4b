"""Models with known costs through ``graphdoctor bench``: is its verdict right?"""
