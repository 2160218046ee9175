from django.contrib.auth.hashers import MD5PasswordHasher


class CountingHasher(MD5PasswordHasher):
    """Counts how often a password is hashed."""

    algorithm = "counting"
    count = 0

    def encode(self, password, salt):
        CountingHasher.count += 1
        return super().encode(password, salt)
