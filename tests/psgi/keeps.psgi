# Changes that applications make to their environment, one path for each. /look prints what the
# next request finds, and what is left of objects and references of the request before.
use strict;
use warnings;
use Hash::Util ();
use Scalar::Util ();

my (@held, $weak, @ended);

package Mark { sub new { bless [$_[1]] } sub DESTROY { push @ended, $_[0][0] } }

my %do = (
    nothing    => sub { },
    add        => sub { $_[0]{'my.key'} = Mark->new('add'); $_[0]{HTTP_MINE} = 'mine' },
    change     => sub { $_[0]{$_} .= 'x' for qw(REQUEST_METHOD PATH_INFO psgi.url_scheme psgi.multithread SERVER_PORT) },
    wide       => sub { $_[0]{PATH_INFO} = "\x{263a}"; $_[0]{HTTP_HOST} = "\x{263a}" },
    delete     => sub { delete @{ $_[0] }{qw(REQUEST_METHOD HTTP_HOST psgi.input psgi.version psgi.errors)} },
    again      => sub { my $it = delete $_[0]{HTTP_HOST}; $_[0]{HTTP_HOST} = "again $it" },
    object     => sub { $_[0]{$_} = Mark->new("object $_") for qw(REMOTE_ADDR psgi.input psgi.errors HTTP_X_ONE) },
    undefine   => sub { $_ = undef for values %{ $_[0] } },
    clear      => sub { %{ $_[0] } = () },
    iterate    => sub { each %{ $_[0] } },
    keep       => sub { push @held, $_[0] },
    keep_value => sub { push @held, \$_[0]{PATH_INFO}, \$_[0]{HTTP_HOST}, $_[0]{'psgi.version'} },
    weaken     => sub { Scalar::Util::weaken($weak = $_[0]) },
    bless      => sub { bless $_[0], 'Mark' },
    lock       => sub { Hash::Util::lock_keys(%{ $_[0] }) },
    lock_value => sub { Hash::Util::lock_value(%{ $_[0] }, 'PATH_INFO') },
    readonly   => sub { Internals::SvREADONLY($_[0]{PATH_INFO}, 1) },
    tie        => sub { require Tie::Hash; tie %{ $_[0] }, 'Tie::StdHash' },
    tie_value  => sub { require Tie::Scalar; tie $_[0]{PATH_INFO}, 'Tie::StdScalar' },
    version    => sub { $_[0]{'psgi.version'}[1] = 7; push @{ $_[0]{'psgi.version'} }, 8 },
    cleanup    => sub { push @{ $_[0]{'psgix.cleanup.handlers'} }, sub { } },
    replace    => sub { $_[0] = {} },
    position   => sub { $_[0]{PATH_INFO} =~ /\G./g },
    die        => sub { $_[0]{'my.key'} = Mark->new('die'); die "on purpose\n" },
    exit       => sub { $_[0]{'my.key'} = 1; exit 0 },
    local      => sub { local $_[0]{PATH_INFO} = 'local'; local $_[0]{'my.other'} = 1 },
    alias      => sub { *main::alias = \$_[0]{HTTP_HOST} },
);

sub shown {
    my $env = shift;
    my $text = join '', map {
        my $value = $env->{$_};
        my $is = ref $value eq 'ARRAY' ? "[@$value]" : ref $value || (defined $value ? $value : 'undef');
        $_ . '=' . $is . (utf8::is_utf8($is) ? ' (characters)' : '') . (defined pos $env->{$_} ? ' (pos)' : '') . "\n";
    } sort grep { !/^(?:REMOTE_PORT|REQUEST_URI|PATH_INFO)\z/ } keys %$env;
    my $ended = join ',', sort splice @ended;
    return "${text}ended=$ended\nweak=" . (defined $weak ? 'alive' : 'gone') . "\n";
}

sub {
    my ($what) = $_[0]{PATH_INFO} =~ m{\A/(\w+)\z};
    return [200, ['Content-Type' => 'text/plain'], [join "\n", sort keys %do]] if $what eq 'list';
    return [200, ['Content-Type' => 'text/plain'], [shown(@_)]] if $what eq 'look';
    $do{$what}->(@_);
    return [200, ['Content-Type' => 'text/plain'], ['done']];
};
