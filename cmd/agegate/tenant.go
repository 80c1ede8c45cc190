package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/brand"
	"agegate/internal/rules/tenant"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *cli) tenantCommand() *cobra.Command {
	return terminal.Group("tenant", "Manage merchant accounts", "",
		c.tenantCreate(), c.tenantCopy(), c.tenantSet(), c.tenantCredit(), c.tenantList(), c.tenantDelete(),
		c.tenantSwitch("disable", "Refuse a tenant's API calls", true),
		c.tenantSwitch("enable", "Accept a tenant's API calls again", false))
}

// noticed is a flag's value that calls given when the flag is set.
type noticed struct {
	pflag.Value
	given func()
}

// Set implements pflag.Value.
func (n noticed) Set(text string) error {
	n.given()
	return n.Value.Set(text)
}

// given sets a setting to a flag's value once the flag is set.
func given[T any](notice func(name string, given func()), to **T, name string, value *T) {
	notice(name, func() { *to = value })
}

// settingFlags adds the flags that tenant create and tenant set share. Each given flag sets a change.
func settingFlags(flags *pflag.FlagSet, c *tenant.Changes) {
	notice := func(name string, given func()) {
		f := flags.Lookup(name)
		f.Value = noticed{f.Value, given}
	}
	text := func(to **string, name, usage string) { given(notice, to, name, flags.String(name, "", usage)) }
	flag := func(to **bool, name, usage string) { given(notice, to, name, flags.Bool(name, false, usage)) }
	list := func(to **[]string, name, usage string) {
		flags.Func(name, usage, func(text string) error {
			if *to == nil {
				*to = &[]string{}
			}
			apart := func(c rune) bool { return c == ',' || unicode.IsSpace(c) }
			**to = append(**to, strings.FieldsFunc(text, apart)...)
			return nil
		})
	}
	number := func(to **int64, name string, standard int64, usage string) {
		given(notice, to, name, flags.Int64(name, standard, usage))
	}
	text(&c.Name, "name", "name shown to shoppers")
	text(&c.SuccessURL, "success-url", "default destination after a check with the status PASSED")
	text(&c.CancelURL, "cancel-url", "default destination of the fallback page")
	text(&c.WebhookURL, "webhook-url", "destination of completion webhooks")
	text(&c.PrivacyURL, "privacy-url", "privacy notice in the page's footer (default: the gateway's)")
	text(&c.HelpURL, "help-url", "help page in the page's footer (default: the gateway's)")
	text(&c.TermsURL, "terms-url", "terms in the page's footer (default: the gateway's)")
	text(&c.ReviewURL, "review-url", "where a refused shopper asks for a review, shown after a refusal")
	flag(&c.DocumentCheck, "document-check", "offer a document check instead of the camera, or after an age refusal")
	flag(&c.DocumentOnly, "document-only", "estimate nobody's age: every shopper shows a document")
	list(&c.DocumentWays, "document-ways", "ways of the document check: wallet, photo (default: all that the gateway has)")
	flag(&c.WalletPID, "wallet-pid", "ask wallets also for identification data (PID) where there is no proof of age")
	list(&c.Margins, "margin", "years added to a target age for an estimate, such as 18=9,16=8 (default: the gateway's)")
	flag(&c.AgeVisibility, "age-visibility", "store the estimates of consenting shoppers")
	number(&c.FreeChecks, "free-checks", 0, "free live checks a month; -1 unlimited (default: the gateway's)")
	number(&c.TestCap, "test-cap", 0, "test sessions a day; -1 unlimited (default: the gateway's)")
	list(&c.Languages, "languages", "languages of the hosted page, such as de,en: the first is the default (default: all)")
	number(&c.AlertBelow, "alert-below", tenant.NoAlert, "warn staff when fewer checks are left; -1 never")
	b := new(tenant.BrandChanges)
	text(&b.Name, "brand-name", "name shown to shoppers in place of the tenant's")
	text(&b.Colour, "brand-colour", "colour of buttons and links, such as '#1f5f5b'")
	flags.Func("brand-logo", "PNG, JPEG or WebP file of at most 256 KiB", func(path string) (err error) {
		var logo []byte
		if b.Logo = &logo; path != "" {
			logo, err = readFile(path, "--brand-logo: the file", brand.MaxLogoBytes+1)
		}
		if err == nil && path != "" && len(logo) == 0 {
			err = errors.New("--brand-logo: the file is empty")
		}
		return err
	})
	flags.BoolFunc("brand-clear", "remove name, colour and logo of the brand", func(string) error {
		*b = *tenant.ClearedBrand()
		return nil
	})
	for _, name := range []string{"brand-name", "brand-colour", "brand-logo", "brand-clear"} {
		notice(name, func() { c.Brand = b })
	}
}

// pair is one value per mode.
type pair struct {
	Test string `json:"test"`
	Live string `json:"live"`
}

// createdTenant is the output of tenant create, the only place where the keys and secrets are shown.
type createdTenant struct {
	TenantID        uuid.UUID `json:"tenant_id"`
	Name            string    `json:"name"`
	APIKeys         pair      `json:"api_keys"`
	WebhookSecrets  pair      `json:"webhook_secrets"`
	RedirectSecrets pair      `json:"redirect_secrets"`
}

func (c *cli) tenantCreate() *cobra.Command {
	var settings tenant.Changes
	var credit int64
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Create a tenant with its keys and secrets, shown only once",
		Args:  cobra.NoArgs,
	}
	settingFlags(cmd.Flags(), &settings)
	cmd.Flags().Int64Var(&credit, "credit", 0, "prepaid credit to start with")
	_ = cmd.MarkFlagRequired("name")
	return terminal.Printing(cmd, terminal.OneObject, func(_ []string, out *terminal.Output) error {
		if credit < 0 || credit > billing.MaxTopUp {
			return fmt.Errorf("--credit must be from 0 to %d", billing.MaxTopUp)
		}
		return c.withOperator(cmd.Context(), func(op operator) error {
			created, err := op.create(cmd.Context(), out, settings.Apply(tenant.Tenant{}), settings.Brand)
			if err != nil {
				return err
			}
			op.warnOf(cmd, created)
			if credit > 0 {
				_, err = billing.TopUp(cmd.Context(), op.store, op.actor, created.ID, credit, "at creation", now())
			}
			return err
		})
	})
}

// create makes a tenant, prints its keys and secrets, and sets its brand; nil is none. They are printed also if the
// brand cannot be set: they exist.
func (op operator) create(
	ctx context.Context, out *terminal.Output, t tenant.Tenant, look *tenant.BrandChanges,
) (tenant.Tenant, error) {
	branded := tenant.Changes{Brand: look}
	if err := cmp.Or(app.CheckSecretKey(ctx, op.tenants), op.tenants.Check(ctx, uuid.Nil, branded)); err != nil {
		return tenant.Tenant{}, err
	}
	created, err := op.tenants.Create(ctx, op.actor, t)
	if err == nil {
		err = printCreated(out, created)
	}
	if err != nil || look == nil {
		return created.Tenant, err
	}
	if _, err = op.tenants.Update(ctx, op.actor, created.Tenant.ID, branded); err != nil {
		err = fmt.Errorf("the tenant is created, but its brand is not set: %w", err)
	}
	return created.Tenant, err
}

func printCreated(out *terminal.Output, c tenant.Credentials) error {
	created := createdTenant{
		TenantID: c.Tenant.ID, Name: c.Tenant.Name,
		APIKeys:         pair{c.Test.APIKey, c.Live.APIKey},
		WebhookSecrets:  pair{c.Test.WebhookSecret, c.Live.WebhookSecret},
		RedirectSecrets: pair{c.Test.RedirectSecret, c.Live.RedirectSecret},
	}
	return out.Print(created, func(w io.Writer) {
		fmt.Fprintf(w, "Tenant\t%s\t%s\n", created.TenantID, tenant.Visible(created.Name))
		fmt.Fprintf(w, "API key\ttest\t%s\n\tlive\t%s\n", created.APIKeys.Test, created.APIKeys.Live)
		fmt.Fprintf(w, "Webhook secret\ttest\t%s\n\tlive\t%s\n", created.WebhookSecrets.Test, created.WebhookSecrets.Live)
		fmt.Fprintf(w, "Redirect secret\ttest\t%s\n\tlive\t%s\n", created.RedirectSecrets.Test, created.RedirectSecrets.Live)
		fmt.Fprintf(w, "Keep these now: they are not shown again.\nIts owner gets into the dashboard by the link that this "+
			"prints:\n  agegate user invite-owner %s\n", created.TenantID)
		if free := c.Tenant.FreeChecks; free != nil && *free == 0 {
			fmt.Fprintf(w, "It has no free checks: live ones need credit.\n  agegate tenant credit %s --add N\n", c.Tenant.ID)
		}
		if !c.Tenant.DocumentCheck && !c.Tenant.DocumentOnly {
			fmt.Fprintf(w, "The document check is off: adults whom the camera refuses have no other way, unless the shop "+
				"offers one at the Cancel URL.\nThis turns it on:\n  agegate tenant set %s --document-check\n", created.TenantID)
		}
	})
}

func (c *cli) tenantSet() *cobra.Command {
	var changes tenant.Changes
	cmd := &cobra.Command{
		Use:   "set TENANT_ID",
		Short: "Change a tenant's settings; an empty URL clears it",
		Long: `Change a tenant's settings. Sessions that exist already keep the callback URLs
they were created with. An empty value clears a URL or a part of the brand. The
brand is how the hosted page looks: a name in place of the tenant's, a logo, and
a colour, which is made lighter or darker until it can be read.`,
		Args: exactlyOne("TENANT_ID"),
	}
	settingFlags(cmd.Flags(), &changes)
	cmd.MarkFlagsMutuallyExclusive("brand-clear", "brand-name")
	cmd.MarkFlagsMutuallyExclusive("brand-clear", "brand-colour")
	cmd.MarkFlagsMutuallyExclusive("brand-clear", "brand-logo")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withTenant(cmd.Context(), args, func(op operator, t tenant.Tenant) error {
			if changes == (tenant.Changes{}) {
				return errors.New("give at least one setting to change")
			}
			t, err := op.tenants.Update(cmd.Context(), op.actor, t.ID, changes)
			op.warnOf(cmd, t)
			return confirm(cmd, err, "Tenant %s (%s) is updated.\n", t.ID, tenant.Visible(t.Name))
		})
	}
	return cmd
}

func (c *cli) tenantSwitch(use, short string, disabled bool) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: use + " TENANT_ID", Short: short, Args: exactlyOne("TENANT_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := audit.CheckNote(reason); err != nil {
				return fmt.Errorf("--reason %w", err)
			}
			return c.withTenant(cmd.Context(), args, func(op operator, t tenant.Tenant) error {
				err := op.tenants.SetDisabled(cmd.Context(), op.actor, t.ID, disabled, reason)
				return confirm(cmd, err, "Tenant %s is %sd.\n", t.ID, use)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the tenant's audit log")
	return cmd
}

func (c *cli) tenantCredit() *cobra.Command {
	var add int64
	var note string
	cmd := &cobra.Command{
		Use: "credit TENANT_ID --add N", Short: "Add prepaid credit, or correct it", Args: exactlyOne("TENANT_ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := audit.CheckNote(note); err != nil {
				return fmt.Errorf("--note %w", err)
			}
			return c.withTenant(cmd.Context(), args, func(op operator, t tenant.Tenant) error {
				balance, err := billing.TopUp(cmd.Context(), op.store, op.actor, t.ID, add, note, now())
				if err == nil && note == "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "Without --note, the tenant's ledger does not say what this credit is for.")
				}
				return confirm(cmd, err, "Tenant %s has a credit of %d.\n", t.ID, balance)
			})
		},
	}
	cmd.Flags().Int64Var(&add, "add", 0, "units to add; negative units correct a mistyped number, and need --note")
	cmd.Flags().StringVar(&note, "note", "", "what for, such as an invoice's number, for the tenant's ledger")
	_ = cmd.MarkFlagRequired("add")
	return cmd
}

// listedTenant is one tenant as tenant list prints it.
type listedTenant struct {
	TenantID      uuid.UUID `json:"tenant_id"`
	Name          string    `json:"name"`
	SuccessURL    string    `json:"success_url"`
	CancelURL     string    `json:"cancel_url"`
	WebhookURL    string    `json:"webhook_url"`
	DocumentCheck bool      `json:"document_check"`
	DocumentOnly  bool      `json:"document_only"`
	DocumentWays  []string  `json:"document_ways"` // empty: all
	WalletPID     bool      `json:"wallet_pid"`
	Margins       []string  `json:"margins"`
	AgeVisibility bool      `json:"age_visibility"`
	PrivacyURL    string    `json:"privacy_url"`
	HelpURL       string    `json:"help_url"`
	TermsURL      string    `json:"terms_url"`
	ReviewURL     string    `json:"review_url"`
	FreeChecks    *int64    `json:"free_checks"` // null: the gateway's default
	TestCap       *int64    `json:"test_cap"`    // null: the gateway's default
	Languages     []string  `json:"languages"`   // empty: all
	AlertBelow    *int64    `json:"alert_below"` // null: never
	Credit        int64     `json:"credit"`
	Disabled      bool      `json:"disabled"`
	CreatedAt     time.Time `json:"created_at"`
}

// listed returns all tenants with their credit.
func (op operator) listed(ctx context.Context) ([]listedTenant, error) {
	listed := []listedTenant{}
	for page, err := range op.tenants.All(ctx) {
		if err != nil {
			return nil, err
		}
		var ids []uuid.UUID
		for _, t := range page {
			ids = append(ids, t.ID)
		}
		funds, err := op.store.Funds(ctx, ids, now())
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			listed = append(listed, listedTenant{
				t.ID, t.Name, t.SuccessURL, t.CancelURL, t.WebhookURL, t.DocumentCheck, t.DocumentOnly,
				append([]string{}, t.DocumentWays...),
				t.WalletPID, append([]string{}, t.Margins...), t.AgeVisibility,
				t.Links.PrivacyURL, t.Links.HelpURL, t.Links.TermsURL, t.Links.ReviewURL,
				t.FreeChecks, t.TestCap, append([]string{}, t.Languages...), t.AlertBelow, funds[t.ID].Credit, t.Disabled,
				t.CreatedAt.UTC(),
			})
		}
	}
	return listed, nil
}

func (c *cli) tenantList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List tenants; --json has all settings of each", Args: cobra.NoArgs}
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withOperator(cmd.Context(), func(op operator) error {
			return terminal.PrintList(out, terminal.Itself[listedTenant], "TENANT\tNAME\tCREDIT\tDISABLED\tCREATED",
				func(t listedTenant) []any {
					return []any{t.TenantID, tenant.Visible(t.Name), t.Credit, t.Disabled, t.CreatedAt.Format(time.DateTime)}
				})(op.listed(cmd.Context()))
		})
	})
}
