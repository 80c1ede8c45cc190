// Package storetest tests any store against the contracts that the domain's
// interfaces state.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"agegate/internal/check/document"
	"agegate/internal/rules/account"
	"agegate/internal/rules/audit"
	"agegate/internal/rules/billing"
	"agegate/internal/rules/certify"
	"agegate/internal/rules/insight"
	"agegate/internal/rules/session"
	"agegate/internal/rules/tenant"
)

// Store is what the tests need of a store.
type Store interface {
	tenant.Store
	audit.Store
	billing.Store
	session.Store
	session.HandoverStore
	session.ClaimStore
	session.ImpactStore
	session.ClockStore
	account.Store
	insight.Store
	document.TrustStore
	document.WalletStore
	certify.Store
	session.CardStore
	Housekeeper
}

// Housekeeper deletes and gives back what has expired.
type Housekeeper interface {
	// PruneClaims deletes up to limit of the idempotency claims that expired at
	// or before now and returns how many.
	PruneClaims(ctx context.Context, now time.Time, limit int) (int, error)
	// ExpiredHolders returns the tenants with open holds that expired at or
	// before now.
	ExpiredHolders(ctx context.Context, now time.Time) ([]uuid.UUID, error)
}

// Run runs every test as a subtest. open returns an empty store for the length
// of the test.
func Run(t *testing.T, open func(t testing.TB) Store) {
	t.Helper()
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s Store)
	}{
		{"tenant comes back as stored", testTenantComesBackAsStored},
		{"create tenant writes all or nothing", testCreateTenantWritesAllOrNothing},
		{"update tenant changes only what is set", testUpdateTenantChangesOnlyWhatIsSet},
		{"missing rows are not found", testMissingRowsAreNotFound},
		{"disable and enable tenant", testDisableAndEnableTenant},
		{"tenants and keys are listed oldest first", testTenantsAndKeysAreListedOldestFirst},
		{"brand", testBrand},
		{"brand and settings change together", testBrandAndSettingsChangeTogether},
		{"key times", testKeyTimes},
		{"a key is replaced once", testAKeyIsReplacedOnce},
		{"rotate secret", testRotateSecret},
		{"secrets are paged from the newest tenant to the oldest", testSecretsArePagedFromTheNewestTenantToTheOldest},
		{"outer secrets", testOuterSecrets},
		{"outer secrets of nobody", testOuterSecretsOfNobody},
		{"a sealed value is replaced only while it is the stored one", testASealedValueIsReplacedOnlyWhileItIsTheStoredOne},
		{"audit entries come back as written", testAuditEntriesComeBackAsWritten},
		{"audit scopes", testAuditScopes},
		{"audit entry is written with its act or neither", testAuditEntryIsWrittenWithItsActOrNeither},
		{"audit entries of many writers are one chain", testAuditEntriesOfManyWritersAreOneChain},
		{"counter stops at its limit", testCounterStopsAtItsLimit},
		{"returned unit is taken once", testReturnedUnitIsTakenOnce},
		{"counter is never oversold", testCounterIsNeverOversold},
		{"credit stays above zero", testCreditStaysAboveZero},
		{"credit is never overspent", testCreditIsNeverOverspent},
		{"hold is settled once", testHoldIsSettledOnce},
		{"expired holds are released once", testExpiredHoldsAreReleasedOnce},
		{"hold is either settled or released", testHoldIsEitherSettledOrReleased},
		{"holds are released in batches", testHoldsAreReleasedInBatches},
		{"ledger is read newest first", testLedgerIsReadNewestFirst},
		{"recent destinations are the newest of a tenant", testRecentDestinations},
		{"credits of many tenants", testCreditsOfManyTenants},
		{"session comes back as stored", testSessionComesBackAsStored},
		{"another tenant's session is not found", testAnotherTenantsSessionIsNotFound},
		{"insert session refuses a taken link", testInsertSessionRefusesATakenLink},
		{"conditional updates", testConditionalUpdates},
		{"first times are kept", testFirstTimesAreKept},
		{"a decision is saved", testDecisionIsSaved},
		{"estimate without consent is refused", testEstimateWithoutConsentIsRefused},
		{"one of many verdicts wins", testOneOfManyVerdictsWins},
		{"a locked session is read after the others", testALockedSessionIsReadAfterTheOthers},
		{"handover", testHandover},
		{"trusted issuers", testTrustedIssuers},
		{"cards come back as stored", testCards},
		{"a card has a share of its own", testCardShare},
		{"certifications come back as stored", testCertifications},
		{"a host is certified once in a while", testAHostIsCertifiedOnceInAWhile},
		{"wallet request", testWalletRequest},
		{"sessions created together come back as stored", testSessionsCreatedTogetherComeBackAsStored},
		{"sessions are created together or not at all", testSessionsAreCreatedTogetherOrNotAtAll},
		{"credit waits for expired holds", testCreditWaitsForExpiredHolds},
		{"sessions created together claim their keys", testSessionsCreatedTogetherClaimTheirKeys},
		{"idempotency claim", testIdempotencyClaim},
		{"one of many idempotency claims wins", testOneOfManyIdempotencyClaimsWins},
		{"prune claims forgets only what expired", testPruneClaimsForgetsOnlyWhatExpired},
		{"user comes back as stored", testUserComesBackAsStored},
		{"membership", testMembership},
		{"login", testLogin},
		{"setup link is replaced and taken once", testSetupLinkIsReplacedAndTakenOnce},
		{"flow is claimed once", testFlowIsClaimedOnce},
		{"passkeys", testPasskeys},
		{"factors come back as stored", testFactorsComeBackAsStored},
		{"codes and steps are used once", testCodesAndStepsAreUsedOnce},
		{"log-ins are renewed and ended", testLoginsAreRenewedAndEnded},
		{"the last owner stays", testTheLastOwnerStays},
		{"invitations and recovery links", testInvitationsAndRecoveryLinks},
		{"throttle", testThrottle},
		{"throttle is dropped meanwhile", testThrottleIsDroppedMeanwhile},
		{"prune accounts forgets only what is over", testPruneAccountsForgetsOnlyWhatIsOver},
		{"sessions are listed newest first", testSessionsAreListedNewestFirst},
		{"events are listed newest first", testEventsAreListedNewestFirst},
		{"an hour is folded once", testAnHourIsFoldedOnce},
		{"sums go with their tenant", testSumsGoWithTheirTenant},
		{"progress looks for a live key in force", testProgressLooksForALiveKeyInForce},
		{"refusals are added up and bounded", testRefusalsAreAddedUpAndBounded},
		{"replicas are listed while they report", testReplicasAreListedWhileTheyReport},
		{"sessions are counted by key", testSessionsAreCountedByKey},
		{"tenants are found", testTenantsAreFound},
		{"users are paged oldest first", testUsersArePagedOldestFirst},
		{"a log-in looks into a tenant", testALoginLooksIntoATenant},
		{"state of the database", testStateOfTheDatabase},
		{"the newest fold is of any tenant", testTheNewestFoldIsOfAnyTenant},
		{"live hours are added up by target age", testLiveHoursAreAddedUpByTargetAge},
		{"test clock", testTestClock},
		{"a wallet request is beside its session", testAWalletRequestIsBesideItsSession},
		{"claims are paged and their links replaced", testClaimsArePagedAndTheirLinksReplaced},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}
