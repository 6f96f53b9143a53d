-- Answers in the server itself, under Mehari and lighttpd alike.
lighty.header["Content-Type"] = "text/plain"
lighty.content = { "Hello, world\n" }
return 200
