// What a thread loads and stores at once: WIDE numbers.
#if WIDE == 1
alias Value = f32;
#end
#if WIDE == 4
alias Value = vec4f;
#end
