package main

import (
	"errors"

	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/spf13/pflag"
)

// brandFlags are the parts of a tenant's brand.
type brandFlags struct {
	name, colour, logo string
	clear              bool
}

func (f *brandFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.name, "brand-name", "", "name shown to shoppers in place of the tenant's")
	flags.StringVar(&f.colour, "brand-colour", "", "colour of buttons and links, such as '#1f5f5b'")
	flags.StringVar(&f.logo, "brand-logo", "", "PNG, JPEG or WebP file of at most 256 KiB")
	flags.BoolVar(&f.clear, "brand-clear", false, "remove name, colour and logo of the brand")
}

// changes returns the parts of the brand given on the command line, or nil if none is.
func (f *brandFlags) changes(flags *pflag.FlagSet) (*tenant.BrandChanges, error) {
	if f.clear {
		return tenant.ClearedBrand(), nil
	}
	var c tenant.BrandChanges
	if flags.Changed("brand-name") {
		c.Name = &f.name
	}
	if flags.Changed("brand-colour") {
		c.Colour = &f.colour
	}
	if flags.Changed("brand-logo") {
		var logo []byte
		if f.logo != "" {
			var err error
			if logo, err = readFile(f.logo, "--brand-logo: the file", brand.MaxLogoBytes+1); err != nil {
				return nil, err
			}
			if len(logo) == 0 {
				return nil, errors.New("--brand-logo: the file is empty")
			}
		}
		c.Logo = &logo
	}
	if c == (tenant.BrandChanges{}) {
		return nil, nil
	}
	return &c, nil
}
