module example.com/x
