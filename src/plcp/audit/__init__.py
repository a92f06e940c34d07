"""Where the sets of any library fail: coverage by learned and named groups, as a plain dict."""
