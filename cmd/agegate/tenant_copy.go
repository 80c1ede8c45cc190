package main

import (
	"cmp"
	"context"

	"agegate/cmd/internal/terminal"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

func (c *cli) tenantCopy() *cobra.Command {
	var changes tenant.Changes
	cmd := &cobra.Command{
		Use:   "copy TENANT_ID --name NAME",
		Short: "Create a tenant with the settings of another, and keys and secrets of its own",
		Long: "Create a tenant with the settings and the brand of another, for example one for\n" +
			"staging. Settings that are given replace those of the other tenant. Keys, secrets,\n" +
			"sessions, credit and members are not copied. The new keys and secrets are shown\nonly once.",
		Args: exactlyOne("TENANT_ID"),
	}
	settingFlags(cmd.Flags(), &changes)
	_ = cmd.MarkFlagRequired("name")
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		return c.withTenant(cmd.Context(), args, func(op operator, from tenant.Tenant) error {
			look, err := brandToCopy(cmd.Context(), op, from.ID, changes.Brand)
			if err != nil {
				return err
			}
			from.ID, from.Disabled = uuid.Nil, false
			created, err := op.create(cmd.Context(), out, changes.Apply(from), look)
			op.warnOf(cmd, created)
			return err
		})
	})
}

// brandToCopy returns the brand of a tenant, with the given changes, as changes to another one, or nil if it has none.
func brandToCopy(
	ctx context.Context, op operator, id uuid.UUID, given *tenant.BrandChanges,
) (*tenant.BrandChanges, error) {
	look, err := op.tenants.Brand(ctx, id)
	if err != nil || look == (brand.Brand{}) {
		return given, err
	}
	var logo []byte
	if look.LogoHash != "" {
		if logo, err = op.tenants.Logo(ctx, look.LogoHash); err != nil {
			return nil, err
		}
	}
	given = cmp.Or(given, &tenant.BrandChanges{})
	return &tenant.BrandChanges{Name: cmp.Or(given.Name, &look.Name), Logo: cmp.Or(given.Logo, &logo),
		Colour: cmp.Or(given.Colour, new(string(look.Colour)))}, nil
}
