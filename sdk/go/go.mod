module github.com/agegate/agegate/sdk/go

go 1.22
