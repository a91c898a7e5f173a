namespace servecast {}
