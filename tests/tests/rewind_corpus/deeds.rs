//! Makes scripts of several dirty deeds each. What such a script prints before its deeds and after
//! them must be what a fresh perl prints.

use crate::dice::Dice;
use mehari_harness::scripts::plain;

/// Prints what the deeds below change.
const PROBE: &str = r#"sub probe { no strict 'refs'; no warnings;
  my @names = sort grep { /^(?:left|kept|n_)/i } keys %main::;
  my @env = map { "$_=$ENV{$_}" } sort grep { /^LEFT/ } keys %ENV;
  my @signals = map { "$_=$SIG{$_}" } sort grep { defined $SIG{$_} && !ref $SIG{$_} && $SIG{$_} =~ /^(?:IGNORE|DEFAULT)$/ } qw(USR1 HUP ALRM CHLD PIPE TERM), grep { /^RT|NUM\d+/ } keys %SIG;
  my $code = join ' ', sort grep { ref $SIG{$_} } keys %SIG;
  open my $status, '<', '/proc/self/status'; my %is = map { /^(\w+):\s*(.*)/ } <$status>;
  my @here = stat '.'; my @script = stat $ENV{SCRIPT_FILENAME} =~ s{/[^/]*$}{}r;
  join '|', "@names", "@env", "@signals", $code, umask, $here[1] == $script[1] ? 'home' : 'away', map({ defined $_ ? length $_ : 'undef' } $/, $\, $,, $"), $;, $|,
    scalar @ARGV, "@INC[0..1]" =~ /left/ ? 'lib' : '', @is{qw(SigBlk)}, 1e300 + 1.1, POSIX->can('setlocale') ? POSIX::setlocale(0) // '' : 'C', $_ // '', $0 =~ /left/ ? 'renamed' : '',
    defined &left_sub ? 'sub' : '', $INC{'left.pm'} // '', tell(STDIN), select, alarm 0,
    $~, $^, $=, $:, length $^L, (localtime 0)[2], "@Left::ISA", defined &UNIVERSAL::left, defined &CORE::GLOBAL::sleep, $? , Left->can('left_method') ? 'inherits' : '';
}
"#;

const DEEDS: &[&str] = &[
    "our $left_scalar = 'x' x 10_000;",
    "our @left_array = (1 .. 5_000);",
    "our %left_hash = map { $_ => [$_] } 1 .. 500;",
    "sub left_sub { 1 } *main::left_alias = \\&left_sub;",
    "$ENV{LEFT_VARIABLE} = 'here'; delete $ENV{PATH};",
    "%ENV = (LEFT => 1);",
    "chdir '/';",
    "umask 077;",
    "$/ = undef; $\\ = ''; $, = '';",
    "$\" = '-'; $; = 'x';",
    "$| = 1; $^W = 1;",
    "@ARGV = qw(left over);",
    "unshift @INC, '/left';",
    "$INC{'left.pm'} = 1; delete $INC{'strict.pm'};",
    "$SIG{USR1} = 'IGNORE'; $SIG{HUP} = 'IGNORE';",
    "$SIG{ALRM} = sub { our $left_alarm = 1 }; alarm 100;",
    "$SIG{__WARN__} = sub { }; warn 'nobody hears';",
    "$SIG{__DIE__} = sub { our $kept_die = 1 }; eval { die 'x' };",
    "$SIG{NUM40} = 'IGNORE';",
    "open our $left_file, '<', '/dev/null' or die; fileno $left_file;",
    "open LEFT, '>', '/dev/null' or die; select LEFT; select STDOUT;",
    "opendir our $left_folder, '/' or die; readdir $left_folder;",
    "pipe our $left_reader, our $left_writer;",
    "my $out = `echo hello`; print length $out;",
    "system 'true'; print $?;",
    "my $pid = open my $child, '-|', 'echo child' or die; print scalar <$child>; close $child;",
    "if (my $pid = fork) { waitpid $pid, 0 } else { exec 'true' }",
    "require POSIX; POSIX::setlocale(POSIX::LC_ALL(), 'C.UTF-8');",
    "require POSIX; POSIX::fesetround(POSIX::FE_UPWARD()) if POSIX->can('fesetround');",
    "require POSIX; POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(10, 12));",
    "require POSIX; POSIX::sigaction(12, POSIX::SigAction->new('IGNORE'));",
    "require Time::HiRes; Time::HiRes::setitimer(Time::HiRes::ITIMER_VIRTUAL(), 50, 50);",
    "require Data::Dumper; $Data::Dumper::Sortkeys = 1; print length Data::Dumper::Dumper({ a => 1, b => 2 });",
    "require Text::Wrap; $Text::Wrap::columns = 20; print length Text::Wrap::wrap('', '', 'left ' x 20);",
    "require Storable; our $left_clone = Storable::dclone({ map { $_ => $_ } 1 .. 300 });",
    "require List::Util; print List::Util::sum(1 .. 100);",
    "require Encode; print length Encode::encode('UTF-8', \"\\x{263a}\" x 100);",
    "require File::Temp; my $file = File::Temp->new; print $file 'x' x 100;",
    "require Cwd; chdir '..'; print Cwd::getcwd() ne '';",
    "binmode STDOUT, ':utf8'; print \"\\x{e9}\"; binmode STDOUT, ':pop' if 0;",
    "binmode STDIN; read STDIN, our $left_input, 3;",
    "close STDERR;",
    "close STDIN;",
    "open STDERR, '>', '/dev/null';",
    "$0 = 'left behind';",
    "$_ = 'left in the topic';",
    "our $kept_object = bless {}, 'Kept'; sub Kept::DESTROY { our $n_ended++ }",
    "our $left_cycle = {}; $left_cycle->{self} = $left_cycle;",
    "our @kept_code = map { my $n = $_; sub { $n } } 1 .. 200;",
    "eval 'sub n_made { 42 } 1' or die; print n_made();",
    "local $@; eval { die { left => 1 } }; our $left_error = $@;",
    "tie our %left_tied, 'Tied'; sub Tied::TIEHASH { bless [], 'Tied' } sub Tied::FETCH { 'tied' } print $left_tied{x};",
    "my $text = 'ab' x 20_000; our $kept_count = () = $text =~ /(a)(b)/g;",
    "my $deep; $deep = sub { no warnings; $_[0] && $deep->($_[0] - 1) }; $deep->(3_000);",
    "our $left_string = 'x' x 3_000_000; substr $left_string, 5, 5, 'y' x 100;",
    "our @left_sorted = sort { $b <=> $a } map { $_ * 7 % 1_001 } 1 .. 3_000;",
    "formline '@<<<', 'left'; our $left_format = $^A;",
    "require Sys::Hostname; Sys::Hostname::hostname();",
    "srand 42; our $left_number = rand;",
    "local *STDOUT_LEFT; open STDOUT_LEFT, '>&', \\*STDOUT or die; close STDOUT_LEFT;",
    "END { our $left_end = 1 } print 'ends';",
    "*CORE::GLOBAL::time = sub { 0 }; our $n_time = 1;",
    "require overload; overload::constant(integer => sub { $_[1] });",
    "undef &probe_left; delete $main::{left_alias}; our $left_glob = \\*main::STDOUT;",
    "format LEFT_FORMAT =\n@<<<\n$main::left_formatted\n.\nour $left_formatted = 'x';",
    "$~ = 'LEFT'; $^ = 'LEFT_TOP'; $= = 10; $^L = 'x'; $: = '-'; $^A = 'left';",
    "$! = 5; $? = 256; $@ = 'left'; $^T = 0;",
    "tie our $left_scalar_tied, 'TiedScalar'; sub TiedScalar::TIESCALAR { bless [], 'TiedScalar' } sub TiedScalar::FETCH { our $n_fetched++ } print $left_scalar_tied;",
    "use overload; BEGIN { overload::constant(float => sub { our $n_float++; $_[1] }) } print 1.5;",
    "require POSIX; POSIX::sigaction(12, POSIX::SigAction->new(sub { our $left_caught++ })); POSIX::raise(12); print our $left_caught;",
    "local $SIG{ALRM} = sub { our $left_alarm = 1 }; alarm 50;",
    "my $id = shmget 0, 4096, 0600; shmwrite $id, 'left', 0, 4; shmread $id, my $read, 0, 4; print $read; shmctl $id, 0, 0;",
    "require POSIX; POSIX::dup2(1, 2);",
    "require POSIX; POSIX::dup2(0, 40);",
    "require POSIX; POSIX::close($_) for 3 .. 60;",
    "$ENV{TZ} = 'Asia/Tokyo'; require POSIX; POSIX::tzset(); print +(localtime 0)[2];",
    "sub AUTOLOAD { our $AUTOLOAD; my $left = $AUTOLOAD; no strict 'refs'; *$AUTOLOAD = sub { $left }; goto &$AUTOLOAD } print left_autoloaded();",
    "require Scalar::Util; our $left_strong = {}; our $left_weak = $left_strong; Scalar::Util::weaken($left_weak); undef $left_strong; print defined $left_weak ? 1 : 0;",
    "@Left::ISA = ('Kept'); sub Kept::left_method { 'inherited' } print Left->left_method; @Left::ISA = ();",
    "require mro; mro::set_mro('Left', 'c3'); print mro::get_mro('Left');",
    "sub UNIVERSAL::left { 'everywhere' } print main->left;",
    "BEGIN { *CORE::GLOBAL::sleep = sub { our $left_slept = 1 } } print sleep 5;",
    "use constant LEFT_CONSTANT => 42; { no warnings; *LEFT_CONSTANT = sub () { 43 } } print &LEFT_CONSTANT;",
    "sub left_prototype ($$) { 1 } require Scalar::Util; &Scalar::Util::set_prototype(\\&left_prototype, '&'); print prototype 'left_prototype';",
    "our $left_searched = 'a b'; study $left_searched; $left_searched =~ /a/g; print pos $left_searched;",
    "use lib '/left/lib';",
    "BEGIN { $^H{left} = 1 } use sort 'stable'; our @left_stable = sort { lc $a cmp lc $b } qw(b A a B); print @left_stable;",
    "open our $left_memory, '>', \\our $left_buffer; print $left_memory 'x' x 100;",
    "keys our %left_buckets = 5_000; our @left_times = times; print scalar @left_times;",
    "our $left_until_end = bless [], 'LeftUntilEnd'; sub LeftUntilEnd::DESTROY { print STDOUT 'destroyed' }",
    "chroot '.';",
];

/// Each deed once in any case, with others beside it.
pub fn scripts(dice: &mut Dice) -> Vec<String> {
    let count = DEEDS.len() * 3 / 2;
    let deeds = |number: usize, dice: &mut Dice| {
        let first = DEEDS[number % DEEDS.len()];
        let others = (0..dice.below(3)).map(|_| DEEDS[dice.below(DEEDS.len())]);
        let all: Vec<&str> = others.chain([first]).collect();
        all.join("\nprint '.';\n")
    };
    (0..count)
        .map(|number| {
            let deeds = deeds(number, dice);
            plain(&format!(
                "{PROBE}my $before = probe();\nprint \"$before\\n\";\n{deeds}\nprint STDOUT \"\\nend\\n\";"
            ))
        })
        .collect()
}
