package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"agegate/cmd/internal/terminal"
	"agegate/internal/app"
	"agegate/internal/app/config"
	"agegate/internal/backoffice/account"
	"agegate/internal/backoffice/mail"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/fault"
	"agegate/internal/rules/tenant"
	"agegate/internal/store"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func (c *cli) userCommand() *cobra.Command {
	return terminal.Group("user", "Manage the users of the dashboard", "",
		c.userSwitch("disable", "Sign a user out everywhere and refuse new log-ins", (*account.Service).Disable,
			" Open invitations that they made have ended: let others make them again."),
		c.userSwitch("enable", "Let a disabled user sign in again", (*account.Service).Enable, ""),
		c.userList(), c.userRecover(), c.userSetupLink(), c.userInviteOwner())
}

// withUsers runs fn on the users of the configured database. If mail is configured and the
// secret key is set, fn also puts mails into the outbox; the gateway sends them.
func (c *cli) withUsers(ctx context.Context, fn func(*account.Service, config.Config) error) error {
	return c.withDatabase(ctx, func(db *store.Store, cfg config.Config) error {
		parts := account.Config{Store: db, URL: cfg.DashboardURL, Random: rand.Reader, Now: now}
		if cfg.SMTP != nil && cfg.SecretKey != nil {
			sealer, err := app.NewSealer(cfg)
			if err != nil {
				return err
			}
			parts.Outbox = mail.NewOutbox(sealer, now)
		}
		return fn(account.NewService(parts), cfg)
	})
}

// userOf returns the user whom an e-mail address or an ID names.
func userOf(ctx context.Context, accounts *account.Service, text string) (user account.User, err error) {
	if id, none := uuid.Parse(text); none == nil {
		user, err = accounts.UserByID(ctx, id)
	} else {
		user, err = accounts.UserByEmail(ctx, text)
	}
	if fault.CodeOf(err) == fault.NotFound {
		err = errors.New("user not found: agegate user list prints all")
	}
	return user, err
}

// linkCommand completes a command that makes a link of the dashboard and prints it, in JSON as a member. What the link
// is for, which link returns with it, goes to standard error, so that scripts read the link alone.
func (c *cli) linkCommand(
	cmd *cobra.Command, member string, link func(*account.Service, []string) (made, about string, err error),
) *cobra.Command {
	return terminal.Printing(cmd, terminal.OneObject, func(args []string, out *terminal.Output) error {
		return c.withUsers(cmd.Context(), func(accounts *account.Service, cfg config.Config) error {
			if err := cfg.CheckDashboard(); err != nil {
				return err
			}
			made, about, err := link(accounts, args)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s It works once, and replaces the one made before.\n", about)
			return out.Print(map[string]string{member: made}, func(w io.Writer) { fmt.Fprintln(w, made) })
		})
	})
}

type listedUser struct {
	ID         uuid.UUID  `json:"id"`
	Email      string     `json:"email"`
	Name       string     `json:"name"`
	Operator   bool       `json:"operator"`
	DisabledAt *time.Time `json:"disabled_at"`
	CreatedAt  time.Time  `json:"created_at"`
}

func (c *cli) userList() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the users, oldest first", Args: cobra.NoArgs}
	return terminal.Printing(cmd, terminal.OneArray, func(_ []string, out *terminal.Output) error {
		return c.withUsers(cmd.Context(), func(accounts *account.Service, _ config.Config) error {
			show := terminal.PrintList(out, func(u account.User) listedUser {
				return listedUser{u.ID, u.Email, u.Name, u.Operator, u.DisabledAt, u.CreatedAt}
			}, "ID\tE-MAIL\tNAME\tSTATE\tCREATED", func(u listedUser) []any {
				state := map[bool]string{false: "enabled", true: "operator"}[u.Operator]
				if u.DisabledAt != nil {
					state = map[bool]string{false: "disabled", true: "operator, disabled"}[u.Operator]
				}
				return []any{u.ID, tenant.Visible(u.Email), tenant.Visible(u.Name), state, u.CreatedAt.Format(time.RFC3339)}
			})
			var all []account.User
			for after := uuid.Nil; ; after = all[len(all)-1].ID {
				page, err := accounts.Users(cmd.Context(), after, account.MaxPage)
				if all = append(all, page...); err != nil || len(page) < account.MaxPage {
					return show(all, err)
				}
			}
		})
	})
}

func (c *cli) userRecover() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover EMAIL|ID",
		Short: "Print a link with which a user sets a new passkey or password",
		Long: `Print a link for a user who cannot sign in. It is valid for an hour, works once and
replaces the link printed before. Using it removes the user's password, passkeys,
authenticator app and recovery codes, and ends all their log-ins. Give it
only to the user: anyone who has it can sign in as that user.`,
		Args: exactlyOneUser,
	}
	return c.linkCommand(cmd, "recovery_link", func(accounts *account.Service, args []string) (_, _ string, _ error) {
		user, err := userOf(cmd.Context(), accounts, args[0])
		if err != nil {
			return "", "", err
		}
		about := "With this link " + tenant.Visible(user.Email) + " sets a new passkey or password within an hour" +
			map[bool]string{false: ".", true: "; the gateway also mails it to them."}[accounts.SendsMail()]
		link, err := accounts.NewRecoveryLink(cmd.Context(), commandLine(), user.ID)
		return link, about, err
	})
}

func (c *cli) userInviteOwner() *cobra.Command {
	cmd := &cobra.Command{
		Use: "invite-owner TENANT_ID", Short: "Print a link with which a tenant's first owner joins",
		Long: `Print a link to the page on which a tenant's first owner creates an account or logs
in. It is valid for 72 hours, works once and replaces the link made before. The owner
invites everybody else in the dashboard.`,
		Args: exactlyOne("TENANT_ID"),
	}
	return c.linkCommand(cmd, "invitation_link", func(accounts *account.Service, args []string) (_, _ string, _ error) {
		id, err := idOf("the ID", args[0], tenantsListed)
		if err != nil {
			return "", "", err
		}
		link, err := accounts.InviteOwner(cmd.Context(), commandLine(), id, account.Invitation{})
		return link, "With this link the owner of tenant " + id.String() + " joins within 72 hours.", missing("tenant", err)
	})
}

func (c *cli) userSwitch(
	use, short string, do func(*account.Service, context.Context, audit.Actor, uuid.UUID) error, also string,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " EMAIL|ID", Short: short, Args: exactlyOneUser,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withUsers(cmd.Context(), func(accounts *account.Service, _ config.Config) error {
				user, err := userOf(cmd.Context(), accounts, args[0])
				if err != nil {
					return err
				}
				err = do(accounts, cmd.Context(), commandLine(), user.ID)
				if err == nil && user.Operator {
					if out, unread := accounts.LockedOut(cmd.Context()); unread == nil && out {
						fmt.Fprintln(cmd.ErrOrStderr(), "No operator can log in now: agegate user enable lets one in again.")
					}
				}
				return confirm(cmd, err, "User %s is %sd.%s\n", tenant.Visible(user.Email), use, also)
			})
		},
	}
}

var exactlyOneUser = exactlyOne("e-mail address or ID of a user")

func (c *cli) userSetupLink() *cobra.Command {
	var owned string
	var another bool
	cmd := &cobra.Command{
		Use:   "setup-link",
		Short: "Print the link that makes the first operator",
		Long: `Print a link to the page on which the first operator makes their account. It is
valid for an hour, works once and replaces the link printed before. Once there is
an operator, a link is printed with --another only, for one more operator; the
audit log has an entry about it.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&owned, "tenant", "", "ID of a tenant that the operator will own too")
	cmd.Flags().BoolVar(&another, "another", false, "also if there is an operator already")
	return c.linkCommand(cmd, "setup_link", func(accounts *account.Service, _ []string) (link, _ string, err error) {
		tenantID, err := tenantOf(owned)
		switch {
		case err != nil:
			return "", "", err
		case another:
			link, err = accounts.NewOperatorLink(cmd.Context(), commandLine(), tenantID)
		default:
			link, err = accounts.NewSetupLink(cmd.Context(), tenantID)
		}
		return link, "With this link an operator makes their account within an hour.", missing("tenant", err)
	})
}

// printSetup writes the setup link to a terminal while there is no operator. If the output is not a terminal,
// and so may be stored, it writes how to get a link, unless always is set.
func printSetup(
	ctx context.Context, cfg config.Config, accounts *account.Service, owned *uuid.UUID, w io.Writer, always bool,
) error {
	if !cfg.Dashboard || !cfg.ServesAPI() || cfg.CheckDashboard() != nil {
		return nil //nolint:nilerr // no dashboard is served, and the log says why
	}
	needed, err := accounts.NeedsSetup(ctx)
	if err != nil || !needed {
		return err
	}
	if !always && !isTerminal(w) {
		slog.InfoContext(ctx, "there is no operator yet: agegate user setup-link prints the link to set up the dashboard")
		return nil
	}
	link, err := accounts.NewSetupLink(ctx, owned)
	if errors.Is(err, account.ErrOperatorExists) {
		return nil // an operator was created meanwhile
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Set up the dashboard (within an hour):  %s\n", link)
	return err
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ) // only a terminal has a size
	return err == nil
}
